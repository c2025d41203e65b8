import { type AnchorHTMLAttributes, useSyncExternalStore } from 'react';

/** Where the server is mounted: `/`, or what a reverse proxy puts before it. */
export const home = new URL(
  import.meta.env.DEV ? '/' : document.getElementById('root')!.dataset.home!,
  document.baseURI,
).pathname;

/** Goes to a place of the dashboard such as `skills?page=2`. */
export function navigate(to: string, { replace = false } = {}) {
  if (replace) history.replaceState(null, '', home + to);
  else history.pushState(null, '', home + to);
  dispatchEvent(new PopStateEvent('popstate'));
}

function listen(changed: () => void) {
  addEventListener('popstate', changed);
  return () => removeEventListener('popstate', changed);
}

/** The path below home, in segments, and the query string. */
export function usePlace() {
  const url = new URL(useSyncExternalStore(listen, () => location.href));
  const path = url.pathname.slice(home.length).replace(/\/$/, '');
  return { path, segments: path.split('/').map(decodeURIComponent), search: url.searchParams };
}

/** The query string holds the state of a view, so that the address can be shared. */
export function useSearch() {
  const { path, search } = usePlace();
  const link = (changes: Record<string, string | null>) => {
    const next = new URLSearchParams(search);
    for (const [name, value] of Object.entries(changes)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    const query = next.toString();
    return query ? `${path}?${query}` : path;
  };
  return {
    get: (name: string) => search.get(name) ?? '',
    page: Math.max(1, Number.parseInt(search.get('page') ?? '', 10) || 1),
    link,
    set: (changes: Record<string, string | null>) => navigate(link(changes), { replace: true }),
  };
}

type LinkProps = { to: string } & AnchorHTMLAttributes<HTMLAnchorElement>;

/** A link within the dashboard. With a modifier key it is a link like any other. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={home + to}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
        event.preventDefault();
        navigate(to);
      }}
    />
  );
}
