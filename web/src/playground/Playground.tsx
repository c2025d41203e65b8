import { GraphiQL } from 'graphiql';
import { useSession } from '../session';
import { examples } from './examples';
import { ExamplesMenu } from './ExamplesMenu';
import { Header } from './Header';

// Teaches the variables editor what our scalars look like.
const scalars = { JSON: {}, Time: { type: 'string' }, Int64: { type: 'integer' } } as const;

export function Playground() {
  const session = useSession();
  return (
    <>
      <Header session={session} />
      <main>
        <GraphiQL
          fetcher={session.run}
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
