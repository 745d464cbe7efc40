// Python in a worker: an endless loop cannot block the page, and the page can end the worker.
const here = new URL(".", import.meta.url);

async function start() {
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", here));
  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  const sources = await fetch(new URL("course.zip", here));
  pyodide.unpackArchive(await sources.arrayBuffer(), "zip");
  return pyodide.runPython("from course.commands.web.ring import answer; answer.answer");
}

const answer = start();
answer.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: String(error) }),
);
onmessage = async ({ data }) => {
  try {
    postMessage({ answer: JSON.parse((await answer)(data)) });
  } catch (error) {
    postMessage({ failed: String(error) });
  }
};
