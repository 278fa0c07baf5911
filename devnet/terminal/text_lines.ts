/** Cuts text into lines (the stream of this name in @std/streams, which npm does not have). */
export class TextLineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform(chunk, controller): void {
        const lines = (rest + chunk).split(/\r?\n/);
        rest = lines.pop() ?? "";
        for (const line of lines) controller.enqueue(line);
      },
      flush(controller): void {
        if (rest !== "") controller.enqueue(rest);
      },
    });
  }
}
