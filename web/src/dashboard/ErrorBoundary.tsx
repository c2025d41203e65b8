import { Component, type ReactNode } from 'react';

/** A view that breaks leaves the frame standing. Often the server was upgraded and the page is from before. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="note bad" role="alert">
        <strong>This view broke.</strong> The server may have been upgraded meanwhile.{' '}
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </div>
    );
  }
}
