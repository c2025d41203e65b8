import { cacheExchange, Client, fetchExchange, mapExchange } from 'urql';
import { home } from './router';
import { type Bus, createBus } from './bus';

export type Link = { client: Client; bus: Bus };

/** Everything that talks to the server with one key. */
export function connect(key: string, refused: () => void): Link {
  const bus = createBus();
  const client = new Client({
    url: new URL(`${home}graphql`, location.origin).href,
    preferGetMethod: false,
    requestPolicy: 'cache-and-network',
    fetchOptions: () => ({
      headers: {
        Accept: 'application/graphql-response+json, application/json;q=0.9',
        Authorization: `Bearer ${key}`,
      },
    }),
    exchanges: [
      cacheExchange,
      mapExchange({
        onResult({ error }) {
          if (error?.response?.status === 401) refused();
          bus.reach(!error?.networkError || error.response?.status < 500);
        },
      }),
      fetchExchange,
    ],
  });
  return { client, bus };
}
