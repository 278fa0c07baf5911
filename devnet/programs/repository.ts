/** Folder of the repository, without a slash at the end, so that the programs work from any directory. */
export const REPOSITORY: string = decodeURIComponent(new URL("../../", import.meta.url).pathname)
  .replace(/\/$/, "");
