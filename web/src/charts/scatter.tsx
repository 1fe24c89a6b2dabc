// Any two figures of several programs against each other, the reader's own marked, so that one sees where it stands.
import { useMemo, useState } from "preact/hooks";
import type { Scatter, ScatterPoint } from "../payload/recording";
import { Rounded } from "../ui/figure";
import { number3 } from "../ui/format";
import { Head } from "../ui/head";
import { TableAlternative } from "../ui/section";

const WIDTH = 640;
const HEIGHT = 340;
const EDGE = { left: 64, right: 34, top: 12, bottom: 34 };
/** Figures that differ by more are drawn by their logarithm. */
const WIDE = 30;

interface Scale {
  at: (value: number) => number;
  marks: number[];
}

/** Programs as points, with two figures to choose as axes. */
export function ScatterPlot({ scatter }: { scatter: Scatter }) {
  const [across, setAcross] = useState(0);
  const [up, setUp] = useState(1);
  const known = useMemo(
    () => scatter.points.filter((point) => isKnown(point, across) && isKnown(point, up)),
    [scatter, across, up],
  );
  const x = scale(known, across, EDGE.left, WIDTH - EDGE.right);
  const y = scale(known, up, HEIGHT - EDGE.bottom, EDGE.top);
  const own = scatter.has_own ? scatter.points[0] : undefined;
  return (
    <figure class="scatter" data-scatter={scatter.title}>
      <figcaption>{scatter.title}</figcaption>
      <Choice label="across" axes={scatter.axes} value={across} onChange={setAcross} />
      <Choice label="up" axes={scatter.axes} value={up} onChange={setUp} />
      <div class="svg-holder">
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          width={WIDTH}
          height={HEIGHT}
          role="img"
          aria-label={`${scatter.axes[up]} by ${scatter.axes[across]}: ${known.length} points; the table below has the same`}
        >
          <g class="grid">
            {x.marks.map((mark) => (
              <g key={mark}>
                <line x1={x.at(mark)} x2={x.at(mark)} y1={EDGE.top} y2={HEIGHT - EDGE.bottom} />
                <text x={x.at(mark)} y={HEIGHT - EDGE.bottom + 16} text-anchor="middle">
                  {number3(mark)}
                </text>
              </g>
            ))}
            {y.marks.map((mark) => (
              <g key={mark}>
                <line x1={EDGE.left} x2={WIDTH - EDGE.right} y1={y.at(mark)} y2={y.at(mark)} />
                <text x={EDGE.left - 6} y={y.at(mark) + 4} text-anchor="end">
                  {number3(mark)}
                </text>
              </g>
            ))}
          </g>
          {known
            .filter((point) => point !== own)
            .map((point) => (
              <circle key={point.name} class="other" cx={x.at(of(point, across))} cy={y.at(of(point, up))} r="4">
                <title>{point.name}</title>
              </circle>
            ))}
          {own && known.includes(own) && (
            <g class="own" transform={`translate(${x.at(of(own, across))} ${y.at(of(own, up))})`}>
              <path d="M 0 -8 L 8 0 L 0 8 L -8 0 Z" />
              <text y="-12">{own.name}</text>
            </g>
          )}
        </svg>
      </div>
      <TableAlternative label={`The ${known.length} points as a table`}>
        {() => (
          <table>
            <Head names={["program", scatter.axes[across] ?? "", scatter.axes[up] ?? ""]} />
            <tbody>
              {known.map((point) => (
                <tr key={point.name}>
                  <td class="text">{point.name}</td>
                  <td>
                    <Rounded value={of(point, across)} />
                  </td>
                  <td>
                    <Rounded value={of(point, up)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </TableAlternative>
    </figure>
  );
}

interface ChoiceProps {
  label: string;
  axes: string[];
  value: number;
  onChange: (value: number) => void;
}

function Choice({ label, axes, value, onChange }: ChoiceProps) {
  return (
    <label class="axis-choice">
      {label}{" "}
      <select value={value} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {axes.map((axis, place) => (
          <option key={axis} value={place}>
            {axis}
          </option>
        ))}
      </select>
    </label>
  );
}

function isKnown(point: ScatterPoint, axis: number): boolean {
  return typeof point.figures[axis] === "number";
}

function of(point: ScatterPoint, axis: number): number {
  return point.figures[axis] ?? 0;
}

/** By the value, from zero; by its logarithm where the figures differ by much and all are above zero. */
function scale(points: ScatterPoint[], axis: number, from: number, to: number): Scale {
  const values = points.map((point) => of(point, axis));
  const least = Math.min(...values);
  const most = Math.max(...values);
  if (least > 0 && most / least > WIDE) {
    const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
    const at = (value: number) => from + ((Math.log10(value) - first) / (last - first)) * (to - from);
    return { at, marks: Array.from({ length: last - first + 1 }, (_, place) => 10 ** (first + place)) };
  }
  const bottom = Math.min(0, least);
  const length = Math.max(most - bottom, Number.MIN_VALUE);
  const at = (value: number) => from + ((value - bottom) / length) * (to - from);
  return { at, marks: [0, 0.25, 0.5, 0.75, 1].map((part) => bottom + part * length) };
}
