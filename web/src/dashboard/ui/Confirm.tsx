import { type FormEvent, type ReactNode, useEffect, useId, useRef } from 'react';

type Props = {
  open: boolean;
  title: string;
  verb: string;
  danger?: boolean;
  /** Whether to ask why. */
  reason?: boolean;
  children: ReactNode;
  close: () => void;
  /** Gets the reason, where one was written. */
  confirm: (reason?: string) => Promise<unknown>;
};

/** Asks before something that others will notice. Escape says no. */
export function Confirm({ open, title, verb, danger, reason = true, children, close, confirm }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  if (!open) return null;

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const why = String(new FormData(event.currentTarget).get('reason') ?? '').trim();
    await confirm(why || undefined);
    close();
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby={id}>
      <form className="stack" onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        {children}
        {reason && (
          <label className="field">
            Reason (others will read it)
            <input name="reason" maxLength={2000} />
          </label>
        )}
        <div className="row">
          <button className={danger ? 'danger' : 'primary'}>{verb}</button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
