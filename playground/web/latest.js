// A worker that is asked faster than it answers: only the last question waits, and one that breaks is replaced.

/** Asks a worker one thing at a time. `heard` gets every answer; an early one loads the compiler before it is asked. */
export class Latest {
  constructor(heard, early = false) {
    this.heard = heard;
    this.early = early;
    this.busy = false;
    this.next = null;
    this.start();
  }
  start() {
    this.worker = new Worker("worker.js", { type: "module" });
    if (this.early) this.worker.postMessage({ early: true });
    this.worker.onmessage = ({ data }) => {
      this.heard(data);
      if (data.last) this.done();
      if (data.broken) this.replace();
    };
    this.worker.onerror = (event) => {
      this.heard({ failed: event.message || "the worker cannot be started", last: true });
      this.replace();
    };
  }
  replace() {
    this.worker.terminate();
    this.start();
    this.done();
  }
  done() {
    this.busy = false;
    if (this.next) this.send(this.next);
  }
  ask(question) {
    if (this.busy) {
      this.next = question;
      this.worker.postMessage({ hurry: true });
    } else this.send(question);
  }
  send(question) {
    this.busy = true;
    this.next = null;
    this.worker.postMessage(question);
  }
}
