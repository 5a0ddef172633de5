// What a subscriber can ask for with a single word. The words themselves are the country's (policy/keywords).

export const keywords = ['stop', 'start', 'help'] as const;
export type Keyword = (typeof keywords)[number];
