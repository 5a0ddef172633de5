/** The country of a heliograph.yaml for tests, whose numbers belong to a carrier `alpha`. */
export const testland = `country:
  name: Testland
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { "17": alpha }
`;
