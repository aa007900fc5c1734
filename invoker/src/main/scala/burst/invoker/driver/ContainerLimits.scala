package burst.invoker.driver

/** The limits of a container on this machine. Memory in bytes; no swap is added to it. `pids` are processes
  * and threads.
  */
final case class ContainerLimits(nanoCpus: Long, memory: Long, pids: Long):
  /** Whether these limits are at least as high as the others in every respect. */
  def allows(others: ContainerLimits): Boolean =
    nanoCpus >= others.nanoCpus && memory >= others.memory && pids >= others.pids

/** The limits of a container by its pack's size; fields are settings of the same names, with memory in MiB.
  *
  * Worked example, 4 workers of 256 MiB on a machine of 2 CPUs, with default settings: 2 CPUs (never more
  * than the machine has), 4 × 256 + 64 MiB of memory and no swap, 256 + 4 × 64 processes and threads.
  */
final case class LimitSettings(cpusPerWorker: Double, memoryOverhead: Int, pids: Long, pidsPerWorker: Long):
  def of(machineCpus: Int, workers: Int, memoryMiB: Int): ContainerLimits = ContainerLimits(
    nanoCpus = nanoCpus(machineCpus, workers),
    memory = (workers.toLong * memoryMiB + memoryOverhead) << 20,
    pids = pids + workers * pidsPerWorker
  )

  def nanoCpus(machineCpus: Int, workers: Int): Long =
    val cpus = math.min(workers * cpusPerWorker, machineCpus.toDouble)
    math.max((cpus * 1e9).toLong, 10_000_000L) // a hundredth of a CPU is Docker's minimum

object LimitSettings:
  def read(settings: DriverSettings): LimitSettings = LimitSettings(
    cpusPerWorker = settings.double("cpus-per-worker"),
    memoryOverhead = settings.int("memory-overhead"),
    pids = settings.long("pids"),
    pidsPerWorker = settings.long("pids-per-worker")
  )
