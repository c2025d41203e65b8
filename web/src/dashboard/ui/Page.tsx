import { type ReactNode, useEffect, useRef } from 'react';
import type { CombinedError } from 'urql';
import { Link } from '../router';
import { Failed, Loading, Missing } from './State';

type Props<D, T> = {
  title: string | ((found: T) => string);
  /** The list that this page is one of. */
  up?: { to: string; label: string };
  lead?: ReactNode;
  view: { data?: D; error?: CombinedError; waiting: boolean };
  /** Takes what the page is about out of the answer; null is a thing that is not there. */
  find: (data: D) => T | null | undefined;
  children: (found: T) => ReactNode;
};

let first = true; // the page that opens first leaves the focus where the browser puts it

/** A view's heading and states: loading, failed, missing, there. */
export function Page<D, T>({ title, up, lead, view, find, children }: Props<D, T>) {
  const { data, error, waiting } = view;
  const found = data && find(data);
  const name = typeof title === 'string' ? title : found ? title(found) : error ? 'Not found' : 'Loading…';
  const heading = useRef<HTMLHeadingElement>(null);

  useEffect(() => {
    document.title = `${name} · skillgraph`;
  }, [name]);
  useEffect(() => {
    if (!first) heading.current?.focus({ preventScroll: true });
    if (!first) scrollTo(0, 0);
    first = false;
  }, []);

  if (data && !found) return <Missing what="thing" />;
  return (
    <article className="page" aria-busy={waiting}>
      <div className={waiting ? 'progress on' : 'progress'} />
      {up && (
        <p className="crumb">
          <Link to={up.to}>{up.label}</Link>
        </p>
      )}
      <h1 ref={heading} tabIndex={-1}>
        {name}
      </h1>
      {lead && <p className="lead">{lead}</p>}
      {error && (!data || !error.networkError) && <Failed error={error} />}
      {found ? children(found) : !error && <Loading what={name} />}
    </article>
  );
}

/** A view that the plan or the role does not open. */
export function Locked({ title, why }: { title: string; why: string }) {
  return (
    <article className="page" aria-busy={false}>
      <h1>{title}</h1>
      <p className="note locked">
        <strong>You cannot open this.</strong> {why}
      </p>
    </article>
  );
}

/** A titled part of a page. */
export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const id = `s-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return (
    <section className="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside && <div className="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}
