/**
 * Plots of the benchmark of scale as SVG: each figure against the number of chains, of pending messages and of URLs.
 * Drawn by Observable Plot on a document in memory, without a browser. Pure. Start reading at {@link drawScale}.
 */
import * as Plot from "@observablehq/plot";
import { DOMParser } from "linkedom";
import type { CaseResult, ScaleCase, ScaleResult } from "./scale_result.ts";

/** A figure that is drawn, with its lines. */
interface Figure {
  readonly name: string;
  readonly label: string;
  readonly lines: Readonly<Record<string, (result: CaseResult) => number>>;
}

const figures: readonly Figure[] = [
  { name: "cpu", label: "idle, % of a core", lines: { "": ({ idleCpuPercent }) => idleCpuPercent } },
  { name: "memory", label: "resident, MB", lines: { "": ({ residentMb }) => residentMb } },
  {
    name: "requests",
    label: "per idle chain and tick",
    lines: { requests: ({ requestsPerTick }) => requestsPerTick, calls: ({ callsPerTick }) => callsPerTick },
  },
  {
    name: "latency",
    label: "update to transaction, ms",
    lines: { p50: ({ latencyP50Ms }) => latencyP50Ms, p95: ({ latencyP95Ms }) => latencyP95Ms },
  },
];

/** What the figures are drawn against. */
const axes: readonly { readonly of: keyof ScaleCase; readonly label: string }[] = [
  { of: "chains", label: "EVM chains" },
  { of: "pending", label: "pending messages" },
  { of: "urls", label: "URLs of a chain" },
];

const PANEL_WIDTH = 270;
const HEIGHT = 220;

/** The plots by name, without `.svg`. */
export function drawScale({ cases }: Pick<ScaleResult, "cases">): ReadonlyMap<string, string> {
  return new Map(figures.map((figure) => [figure.name, drawFigure(figure, cases)]));
}

function drawFigure(figure: Figure, cases: readonly CaseResult[]): string {
  const highest = Math.max(...cases.flatMap((each) => Object.values(figure.lines).map((read) => read(each))));
  const panels = axes.map(({ of, label }, at) => {
    const panel = drawPanel(figure, { along: alongOf(cases, of), of, label, highest });
    return panel.replace("<svg ", `<svg x="${at * PANEL_WIDTH}" `);
  });
  const size = `width="${axes.length * PANEL_WIDTH}" height="${HEIGHT}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${
      axes.length * PANEL_WIDTH
    } ${HEIGHT}" color="black">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    ...panels,
    "</svg>\n",
  ].join("\n");
}

/** The smallest case, and those that differ from it in one respect only. @throws {RangeError} without cases. */
export function alongOf(cases: readonly CaseResult[], of: keyof ScaleCase): readonly CaseResult[] {
  const [smallest] = cases;
  if (smallest === undefined) throw new RangeError("No cases");
  const others = axes.map((axis) => axis.of).filter((axis) => axis !== of);
  return cases.filter((each) => others.every((axis) => each[axis] === smallest[axis]))
    .sort((a, b) => a[of] - b[of]);
}

interface Panel {
  readonly along: readonly CaseResult[];
  readonly of: keyof ScaleCase;
  readonly label: string;
  readonly highest: number;
}

function drawPanel({ label: y, lines }: Figure, { along, of, label, highest }: Panel): string {
  const points = along.flatMap((each) =>
    Object.entries(lines).map(([line, read]) => ({ x: each[of], y: read(each), line }))
  );
  const last = along.at(-1)?.[of];
  const plot = Plot.plot({
    document: new DOMParser().parseFromString("<html></html>", "text/html"),
    width: PANEL_WIDTH,
    height: HEIGHT,
    marginLeft: 48,
    marginRight: 40,
    x: {
      type: "log",
      label,
      ticks: along.map((each) => each[of]),
      tickFormat: (value: number) => value.toLocaleString("en-US"),
    },
    y: { label: y, domain: [0, highest * 1.1], grid: true, ticks: 5 },
    marks: [
      Plot.ruleY([0]),
      Plot.line(points, { x: "x", y: "y", z: "line", stroke: "line" }),
      Plot.dot(points, { x: "x", y: "y", fill: "line" }),
      Plot.text(points.filter(({ x }) => x === last), {
        x: "x",
        y: "y",
        text: "line",
        textAnchor: "start",
        dx: 6,
      }),
    ],
  });
  return rounded(plot.outerHTML);
}

/** Tenths of a pixel are enough, and make files that differ only where the figures do. */
function rounded(svg: string): string {
  return svg.replace(/\d+\.\d{2,}/g, (number) => `${Math.round(Number(number) * 10) / 10}`);
}
