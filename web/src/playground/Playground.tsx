import { GraphiQL } from 'graphiql';
import { getOperationAST } from 'graphql';
import { type ComponentProps, useMemo } from 'react';
import { useSession } from '../session';
import { examples } from './examples';
import { ExamplesMenu } from './ExamplesMenu';
import { Header } from './Header';

// Teaches the variables editor what our scalars look like.
const scalars = { JSON: {}, Time: { type: 'string' }, Int64: { type: 'integer' } } as const;

type Fetcher = ComponentProps<typeof GraphiQL>['fetcher'];

export function Playground() {
  const session = useSession();
  const { run, live } = session;
  const fetcher = useMemo<Fetcher>(
    () => (params, options) => {
      const operation = options?.documentAST && getOperationAST(options.documentAST, params.operationName);
      if (operation?.operation !== 'subscription') return run(params);
      return live.iterate({ ...params, variables: params.variables ?? undefined }) as AsyncIterableIterator<any>;
    },
    [run, live],
  );
  return (
    <>
      <Header session={session} />
      <main>
        <GraphiQL
          fetcher={fetcher}
          // Without a key the server would refuse introspection, so do not ask.
          schema={session.hasKey ? undefined : null}
          defaultTabs={[examples[0]]}
          customScalarSchemas={scalars}
          defaultEditorToolsVisibility="variables"
          forcedTheme="system"
          // The key is the only header the server reads, and it has its own field.
          isHeadersEditorEnabled={false}
          showPersistHeadersSettings={false}
        >
          <GraphiQL.Logo>
            <ExamplesMenu />
          </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </>
  );
}
