// What a request carries through the Hono app from one step to the next.

export type Variables = { Variables: { requestId: string } };
