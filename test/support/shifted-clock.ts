// Loaded with --import before a role of the product: its wall clock is off by CLOCK_SHIFT_MS, in every thread.
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const { now } = Date;
Object.assign(Date, { now: () => now() + shiftMs });
