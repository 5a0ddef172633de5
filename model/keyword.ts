// What a subscriber can request with a single word. The country pack has the words (policy/keywords).

export const keywords = ['stop', 'start', 'help'] as const;
export type Keyword = (typeof keywords)[number];
