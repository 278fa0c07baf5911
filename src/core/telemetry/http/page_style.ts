/** Style of the status pages: one column on narrow screens, light or dark as the reader's system is. */

/** Style sheet, served as `/style.css`. */
export const PAGE_STYLE = `:root {
  color-scheme: light dark;
  --back: #f6f7f9; --card: #fff; --text: #1c2128; --faint: #5c6673; --line: #dfe3e8;
  --good: #1a7f37; --warn: #9a6700; --bad: #c0262d; --mark: #0b63c5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1318; --card: #181d24; --text: #e4e8ee; --faint: #98a3b1; --line: #2b323c;
    --good: #4cc26a; --warn: #e0ab35; --bad: #ff7b72; --mark: #6cb2ff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 75rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; -webkit-text-size-adjust: 100%;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; margin-bottom: 1rem; }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
header p, footer { color: var(--faint); margin: 0; font-size: .85rem; }
footer { margin-top: 1rem; }
a { color: var(--mark); }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  margin-bottom: 1rem;
}
.none { color: var(--faint); margin: 0; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.faint { color: var(--faint); }
.state { font-weight: 600; margin: 0 0 .25rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem 1.25rem .3rem 0; vertical-align: top; overflow-wrap: anywhere; }
thead th { color: var(--faint); font-weight: 500; font-size: .8rem; white-space: nowrap; }
tbody th { font-weight: inherit; }
th:last-child, td:last-child { padding-right: 0; }
tbody tr { border-top: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
ul.plain { list-style: none; margin: 0; padding: 0; }
ul.plain > li { border-top: 1px solid var(--line); padding: .4rem 0; overflow-wrap: anywhere; }
ul.plain > li:first-child { border-top: 0; }
code { font: .85em/1.4 ui-monospace, monospace; }
@media (max-width: 44rem) {
  body { padding: .5rem; }
  section { padding: .6rem .7rem; margin-bottom: .6rem; }
  table, tbody, tr, td, tbody th { display: block; width: 100%; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { padding: .4rem 0; }
  tbody tr:first-child { border-top: 0; }
  td, td.number, tbody th {
    display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; padding: .1rem 0; white-space: normal;
  }
  td::before, tbody th::before { content: attr(data-name); color: var(--faint); flex: none; }
  tbody th { font-weight: 600; justify-content: flex-start; gap: 0 .4rem; }
  tbody th::before { font-weight: 400; }
  td.empty { display: none; }
}
`;
