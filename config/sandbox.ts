/** The carrier of test keys. It exists in every configuration. */
export const sandboxCarrierName = 'sandbox';
