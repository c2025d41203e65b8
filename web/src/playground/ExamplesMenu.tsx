import { DropdownMenu, pick, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { type Example, examples } from './examples';

/** Opens an example in a tab of its own, or goes back to the tab that still holds it. */
export function ExamplesMenu() {
  const { addTab, changeTab } = useGraphiQLActions();
  const { tabs, queryEditor, variableEditor } = useGraphiQL(pick('tabs', 'queryEditor', 'variableEditor'));

  const open = (example: Example) => {
    const at = tabs.findIndex((tab) => tab.query === example.query);
    if (at >= 0) return changeTab(at);
    addTab();
    queryEditor?.setValue(example.query);
    variableEditor?.setValue(example.variables);
  };

  return (
    <DropdownMenu>
      <DropdownMenu.Button className="examples">Examples</DropdownMenu.Button>
      <DropdownMenu.Content className="examples-menu" align="end">
        {examples.map((example) => (
          <DropdownMenu.Item key={example.title} onSelect={() => open(example)}>
            {example.title}
          </DropdownMenu.Item>
        ))}
      </DropdownMenu.Content>
    </DropdownMenu>
  );
}
