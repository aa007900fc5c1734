package burst.invoker.driver

/** How many MiB a pack's program may have where its runtime holds it to them: more than its workers' memory,
  * since the kernel counts what their stacks may come to, used or not, and the program has something of its
  * own.
  */
final case class ProgramMemory(overhead: Int, perWorker: Int):
  def mebibytes(workers: Int, memoryMiB: Int): Long = workers.toLong * (memoryMiB + perWorker) + overhead

object ProgramMemory:
  def read(settings: DriverSettings): ProgramMemory =
    ProgramMemory(settings.int("memory-overhead"), settings.int("memory-per-worker"))
