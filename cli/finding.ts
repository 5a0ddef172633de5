// What the doctor found out about one thing.

export type Finding = { check: string; ok: boolean; note?: boolean; detail: string };
