package burst.controller.store

import burst.protocol.InvokerId
import java.util.concurrent.atomic.AtomicReference

/** The drained machines of a test. */
final class MemoryDrainedInvokers extends DrainedInvokers:
  private val ids = AtomicReference(Set.empty[InvokerId])
  def all(): Set[InvokerId] = ids.get
  def add(id: InvokerId): Unit =
    val _ = ids.updateAndGet(_ + id)
  def remove(id: InvokerId): Boolean = ids.getAndUpdate(_ - id).contains(id)
