import { count, percent } from '../../ui/words';

type Day = { date: string; value: number };

/** Days in a row are one alert: it fires on the first, and is over after the last. */
export function firings(days: Day[], threshold: number) {
  const below = days.filter((d) => d.value < threshold).map((d) => Date.parse(d.date) / 86_400_000);
  below.sort((a, b) => a - b);
  return { days: below.length, times: below.filter((day, i) => i === 0 || day - below[i - 1] > 1).length };
}

type Props = { threshold: number; change: (threshold: number) => void; days: Day[]; span: number };

/** A threshold, and what it would have done. */
export function Slider({ threshold, change, days, span }: Props) {
  const run = firings(days, threshold);
  return (
    <div>
      <label htmlFor="threshold">
        Threshold of the pass rate: <b>{percent(threshold)}</b>
      </label>
      <input
        id="threshold"
        type="range"
        min="0"
        max="1"
        step="0.01"
        value={threshold}
        aria-valuetext={percent(threshold)}
        onChange={(event) => change(Number(event.target.value))}
      />
      <output htmlFor="threshold">
        {run.times === 0
          ? `It would not have fired in the last ${span} days.`
          : `It would have fired ${count(run.times, 'time')} in the last ${span} days, on ${count(run.days, 'day')} in all.`}
      </output>
    </div>
  );
}
