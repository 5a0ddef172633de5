// The figure of a rule, or its threshold, as lists, events and the command line show it: with one decimal. A figure that
// reached its threshold does so when both are rounded, too.

export const shownFigure = (figure: number): number => Math.round(figure * 10) / 10;
