// Reads octets that should be a JSON object. Whether its fields are what they should be is the caller's to say.

/** Null for octets that are no JSON, and for JSON that is no object. */
export function jsonObjectIn(octets: Uint8Array): Record<string, unknown> | null {
  try {
    const text = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString('utf8');
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
