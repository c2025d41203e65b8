/** Text with line numbers; with a mark, only the lines around it. */
export function Code({ text, label, mark, around = Number.POSITIVE_INFINITY }: { text: string; label: string; mark?: number; around?: number }) {
  const lines = text.replace(/\n$/, '').split('\n');
  return (
    <pre className="code" tabIndex={0} role="region" aria-label={label}>
      {lines.map((line, i) =>
        mark && Math.abs(i + 1 - mark) > around ? null : (
          <span key={i} className={i + 1 === mark ? 'mark' : undefined}>
            <span className="no">{i + 1}</span>
            {line}
          </span>
        ),
      )}
    </pre>
  );
}

/** A unified diff, as the server makes it. */
export function Diff({ text, label }: { text: string; label: string }) {
  const look = (line: string) => {
    if (line.startsWith('@@') || line.startsWith('---') || line.startsWith('+++')) return 'hunk';
    return line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : undefined;
  };
  return (
    <pre className="code" tabIndex={0} role="region" aria-label={label}>
      {text.replace(/\n$/, '').split('\n').map((line, i) => (
        <span key={i} className={look(line)}>
          {line || ' '}
        </span>
      ))}
    </pre>
  );
}
