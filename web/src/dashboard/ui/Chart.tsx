import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { percent } from './words';

export type Point = { at: number; point: { value: number; low: number; high: number; count: number } | null };
export type Mark = { at: number; label: string };

type Props = { title: string; points: Point[]; marks: Mark[] };

const height = 200;

/** A share over time with its interval, and marks on the time axis. The table below it tells the same in words. */
export default function Chart({ title, points, marks }: Props) {
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const element = box.current!;
    let plot = draw(element, points, marks);
    const again = () => {
      plot.destroy();
      plot = draw(element, points, marks);
    };
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    const dark = matchMedia('(prefers-color-scheme: dark)');
    resize.observe(element);
    dark.addEventListener('change', again);
    addEventListener('theme', again);
    return () => {
      resize.disconnect();
      dark.removeEventListener('change', again);
      removeEventListener('theme', again);
      plot.destroy();
    };
  }, [points, marks]);

  const known = points.flatMap(({ at, point }) => (point ? [{ at, point }] : []));
  const last = known.at(-1);
  return (
    <figure className="chart">
      <figcaption>
        {title}
        {last && <b> {percent(last.point.value)}</b>}
      </figcaption>
      <div ref={box} role="img" aria-label={`${title} over ${points.length} days; the table below has the figures.`} />
      <details>
        <summary>Figures</summary>
        <div className="scroll figures" tabIndex={0} role="region" aria-label={`${title}: figures`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col">Value</th>
                <th scope="col">95 % interval</th>
                <th scope="col">Counted from</th>
              </tr>
            </thead>
            <tbody>
              {known.toReversed().map(({ at, point }) => (
                <tr key={at}>
                  <th scope="row">{day(at)}</th>
                  <td>{percent(point.value)}</td>
                  <td>
                    {percent(point.low)} to {percent(point.high)}
                  </td>
                  <td>{point.count}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {marks.length > 0 && <p>Releases: {marks.map((m) => `${m.label} on ${day(m.at)}`).join('; ')}.</p>}
        </div>
      </details>
    </figure>
  );
}

const day = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);

function draw(element: HTMLElement, points: Point[], marks: Mark[]) {
  const colour = probe(element);
  const column = (of: 'value' | 'low' | 'high') => points.map(({ point }) => point?.[of] ?? null);
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') } };
  const options: uPlot.Options = {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: [0, 1] } },
    axes: [
      { ...axis, values: (_, splits) => splits.map((s) => new Date(s * 1000).toLocaleDateString('en', { month: 'short', day: 'numeric' })) },
      { ...axis, size: 52, values: (_, splits) => splits.map((s) => `${Math.round(s * 100)}%`) },
    ],
    series: [{}, { stroke: 'transparent', points: { show: false } }, { stroke: 'transparent', points: { show: false } }, { stroke: colour('--accent'), width: 2, points: { show: false } }],
    bands: [{ series: [2, 1], fill: colour('--accent', 0.18) }],
    hooks: { draw: [(plot) => releases(plot, marks, colour('--text'))] },
  };
  return new uPlot(options, [points.map((p) => p.at), column('low'), column('high'), column('value')], element);
}

/** Reads what a colour of the style sheet is at present. */
function probe(element: HTMLElement) {
  return (name: string, opacity = 1) => {
    element.style.color = `color-mix(in srgb, var(${name}) ${opacity * 100}%, transparent)`;
    const { color } = getComputedStyle(element);
    element.style.color = '';
    return color;
  };
}

/** A line for every release, with its name at the top where there is room. */
function releases(plot: uPlot, marks: Mark[], colour: string) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.globalAlpha = 0.75;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.textAlign = 'left';
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  let free = bbox.left;
  for (const mark of marks.toSorted((a, b) => a.at - b.at)) {
    const x = Math.round(plot.valToPos(mark.at, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(mark.label).width;
    const left = Math.min(x + 4 * ratio, bbox.left + bbox.width - width);
    if (left < free) continue;
    ctx.fillText(mark.label, left, bbox.top + bbox.height - 6 * ratio);
    free = left + width + 8 * ratio;
  }
  ctx.restore();
}
