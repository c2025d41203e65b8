import { createClient } from 'graphql-ws';
import type { Bus } from './bus';
import { home } from './router';

const query = 'subscription live { events { kind } }';

/** Tells the bus what happens on the server, until it is stopped. Whoever listens to the bus reads again what is on view. */
export function listen(key: string, bus: Bus) {
  const url = new URL(`${home}graphql`, location.origin);
  url.protocol = url.protocol.replace('http', 'ws');
  const client = createClient({
    url: url.href,
    connectionParams: { Authorization: `Bearer ${key}` },
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: (tries) => new Promise((done) => setTimeout(done, Math.min(30_000, 500 * 2 ** tries))),
    shouldRetry: () => true,
    on: {
      connected: (_socket, _payload, wasRetry) => {
        bus.live(true);
        // What happened meanwhile was missed.
        if (wasRetry) bus.changed('*');
      },
      closed: () => {
        // The server has gone, or does not want this key any more: reading again tells which.
        if (bus.state().live) bus.changed('*');
        bus.live(false);
      },
    },
  });
  client.subscribe<{ events: { kind: string } }>(
    { query },
    {
      next: ({ data }) => data && bus.changed(data.events.kind),
      error: () => bus.live(false),
      complete: () => bus.live(false),
    },
  );
  return () => void client.dispose();
}
