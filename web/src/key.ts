/** The API key lives in this browser tab only: never in a URL, never in localStorage. */
const slot = 'skillgraph.key';

export const storedKey = () => sessionStorage.getItem(slot) ?? '';
export const storeKey = (key: string) => (key ? sessionStorage.setItem(slot, key) : sessionStorage.removeItem(slot));
