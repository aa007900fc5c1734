package burst.invoker.driver

/** How many MiB a pack's program may use if its runtime enforces the limit: more than its workers' memory,
  * since the kernel counts the full size of their stacks, used or not, and the program needs memory of its
  * own.
  */
final case class ProgramMemory(overhead: Int, perWorker: Int):
  def mebibytes(workers: Int, memoryMiB: Int): Long = workers.toLong * (memoryMiB + perWorker) + overhead

object ProgramMemory:
  def read(settings: DriverSettings): ProgramMemory =
    ProgramMemory(settings.int("memory-overhead"), settings.int("memory-per-worker"))
