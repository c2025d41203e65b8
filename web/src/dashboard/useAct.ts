import { useState } from 'react';
import type { AnyVariables, CombinedError, TypedDocumentNode } from 'urql';
import { useSession } from './session';

/** What went wrong, in the server's words where it has any. */
export function reason(error: CombinedError) {
  return error.graphQLErrors[0]?.message ?? 'The server does not answer.';
}

/** Runs mutations: says how it went, and has what is on view read again. */
export function useAct() {
  const { client, bus, say } = useSession();
  const [busy, setBusy] = useState(false);

  async function act<D, V extends AnyVariables>(document: TypedDocumentNode<D, V>, variables: V, done: string) {
    setBusy(true);
    const { data, error } = await client.mutation(document, variables).toPromise();
    setBusy(false);
    say(error ? reason(error) : done, Boolean(error));
    if (!error) bus.changed('*');
    return error ? undefined : data;
  }
  return { act, busy };
}
