// Priorities of our statements in ClickHouse (its setting `priority`): the lower number runs first. A statement with 0, the default,
// neither waits for others nor do they wait for it.

/** Of look-ups and inserts. */
export const priority = 1;

/**
 * Settings of a report, an export or the operator's SQL: it pauses between two blocks of rows while a look-up or an insert runs, for
 * at most 100 ms each time, so that it ends however busy the store is.
 */
export const lowPriority = 'priority = 2, low_priority_query_wait_time_ms = 100';
