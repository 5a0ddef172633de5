// Which of our statements go before others in ClickHouse. The default, 0, neither waits nor is waited for.

/** Of all statements but those of `behindOthers`: look-ups and inserts. */
export const priority = 1;

/**
 * Settings of a statement that others go before, such as a report: while another statement of ours runs, it stands still at each block,
 * for at most this time, so that it ends.
 */
export const behindOthers = 'priority = 2, low_priority_query_wait_time_ms = 100';
