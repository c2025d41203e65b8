import { useContext, useEffect, useRef, useSyncExternalStore } from 'react';
import { type AnyVariables, type TypedDocumentNode, useQuery } from 'urql';
import { Session } from './session';

const settle = 400; // milliseconds: one act often makes several events
const poll = { live: 300_000, lost: 2_000, quiet: 30_000 };

/**
 * Reads what a view shows, in one query, and reads it again when something of these kinds happens: `suite.` stands for
 * all that happens to suites. Without live news it asks every half a minute.
 */
export function useView<D, V extends AnyVariables>(query: TypedDocumentNode<D, V>, variables: V, kinds: string[]) {
  const { bus } = useContext(Session)!;
  const { reached, live } = useSyncExternalStore(bus.onState, bus.state);
  const [result, again] = useQuery<D, AnyVariables>({ query: query as TypedDocumentNode<D, AnyVariables>, variables });

  useEffect(() => {
    let timer = 0;
    const refetch = () => again({ requestPolicy: 'network-only' });
    const off = bus.onChange((kind) => {
      if (kind !== '*' && !kinds.some((wanted) => kind.startsWith(wanted))) return;
      clearTimeout(timer);
      timer = window.setTimeout(refetch, kind === '*' ? 0 : settle);
    });
    const wait = !reached ? poll.lost : live ? poll.live : poll.quiet;
    const every = setInterval(() => document.hidden || refetch(), wait);
    return () => {
      off();
      clearTimeout(timer);
      clearInterval(every);
    };
  }, [bus, again, reached, live, kinds.join()]);

  // What was there stays on view when it cannot be read again.
  const last = useRef(result.data);
  if (result.data) last.current = result.data;
  return { data: result.data ?? (result.error ? last.current : undefined), error: result.error, waiting: result.fetching || result.stale };
}
