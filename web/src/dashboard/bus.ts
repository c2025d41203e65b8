/** What views must hear: that something changed on the server, and whether the server can be reached. */
export type Bus = ReturnType<typeof createBus>;

type Listener = (kind: string) => void;

export function createBus() {
  const changes = new Set<Listener>();
  const states = new Set<() => void>();
  let state = { reached: true, live: false };

  const become = (next: Partial<typeof state>) => {
    const merged = { ...state, ...next };
    if (merged.reached === state.reached && merged.live === state.live) return;
    state = merged;
    for (const tell of states) tell();
  };

  return {
    /** Tells every view that something of this kind happened, such as `suite.created`; `*` is anything. */
    changed: (kind: string) => changes.forEach((tell) => tell(kind)),
    onChange(listener: Listener) {
      changes.add(listener);
      return () => void changes.delete(listener);
    },
    reach: (reached: boolean) => become({ reached }),
    live: (live: boolean) => become({ live }),
    state: () => state,
    onState(listener: () => void) {
      states.add(listener);
      return () => void states.delete(listener);
    },
  };
}
