// Counts are kept by half hours of acceptance: the `slot` of a row is the beginning of one. Days and hours of a time zone
// can be made of them where its offset is on half hours.

export const halfHourS = 1_800;
export const halfHourMs = halfHourS * 1_000;
