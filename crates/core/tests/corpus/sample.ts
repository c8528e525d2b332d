import { EventEmitter } from "node:events";
import { readFile, writeFile } from "node:fs/promises";

export type TaskState = "waiting" | "running" | "done" | "failed";

export interface Task<T = unknown> {
  readonly id: string;
  readonly title: string;
  state: TaskState;
  attempts: number;
  dependsOn: string[];
  run(signal: AbortSignal): Promise<T>;
}

export interface QueueOptions {
  concurrency?: number;
  maxAttempts?: number;
  backoffMs?: (attempt: number) => number;
}

const defaultBackoff = (attempt: number): number => Math.min(30_000, 250 * 2 ** attempt);

export class TaskQueue extends EventEmitter {
  private readonly tasks = new Map<string, Task>();
  private readonly results = new Map<string, unknown>();
  private readonly controller = new AbortController();
  private active = 0;

  constructor(private readonly options: QueueOptions = {}) {
    super();
  }

  add<T>(task: Task<T>): this {
    if (this.tasks.has(task.id)) {
      throw new Error(`a task with the id ${task.id} is in the queue already`);
    }
    this.tasks.set(task.id, task as Task);
    this.emit("added", { id: task.id, title: task.title });
    return this;
  }

  get pending(): Task[] {
    return [...this.tasks.values()].filter((task) => task.state === "waiting");
  }

  private isReady(task: Task): boolean {
    return task.dependsOn.every((id) => this.tasks.get(id)?.state === "done");
  }

  async drain(): Promise<Map<string, unknown>> {
    const limit = this.options.concurrency ?? 4;
    while (this.pending.length > 0 && !this.controller.signal.aborted) {
      const ready = this.pending.filter((task) => this.isReady(task)).slice(0, limit - this.active);
      if (ready.length === 0 && this.active === 0) {
        const blocked = this.pending.map((task) => task.id).join(", ");
        throw new Error(`these tasks wait for others that never finish: ${blocked}`);
      }
      await Promise.all(ready.map((task) => this.execute(task)));
    }
    return this.results;
  }

  abort(reason?: string): void {
    this.controller.abort(new Error(reason ?? "the queue was aborted"));
  }

  private async execute(task: Task): Promise<void> {
    const { maxAttempts = 3, backoffMs = defaultBackoff } = this.options;
    this.active += 1;
    task.state = "running";
    try {
      for (;;) {
        task.attempts += 1;
        try {
          this.results.set(task.id, await task.run(this.controller.signal));
          task.state = "done";
          this.emit("done", task.id);
          return;
        } catch (error) {
          if (task.attempts >= maxAttempts) {
            task.state = "failed";
            this.emit("failed", task.id, error);
            return;
          }
          await new Promise((resolve) => setTimeout(resolve, backoffMs(task.attempts)));
        }
      }
    } finally {
      this.active -= 1;
    }
  }
}

export async function persist(queue: TaskQueue, path: string): Promise<void> {
  const snapshot = queue.pending.map(({ id, title, attempts }) => ({ id, title, attempts }));
  await writeFile(path, JSON.stringify(snapshot, null, 2), "utf8");
}

export async function restore(path: string): Promise<Pick<Task, "id" | "title">[]> {
  const text = await readFile(path, "utf8").catch(() => "[]");
  return JSON.parse(text) as Pick<Task, "id" | "title">[];
}
