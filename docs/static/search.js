// Order of search results: glossary and guide first, then tutorials and pages of names, modules last.
var Scorer = {
  boost: { terms: 60, guide: 40, tutorials: 10, api: -20, genindex: -20 },
  score: ([page, , , , score]) => score + (Scorer.boost[page.split("/")[0]] || 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
