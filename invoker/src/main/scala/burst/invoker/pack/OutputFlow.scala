package burst.invoker.pack

import burst.node.FairSemaphore
import burst.protocol.{PackEvent, PackReport}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** Holds back the events of a pack while its last outputs are not stored yet, and while other packs of this
  * machine use all the memory for outputs in transit (`memory`): however much workers put out, only that much
  * is ever in memory, here and at the controller. Tenants take turns.
  */
private[pack] final class OutputFlow(memory: FairSemaphore, tenant: String)(using ExecutionContext):
  private var inFlight = Option.empty[Promise[Unit]]
  private var held = Option.empty[FairSemaphore.Permit]
  private var closed = false

  /** Completes when these events can be passed on. */
  def admit(events: Vector[PackEvent]): Future[Unit] =
    val bytes = PackReport.outputBytes(events)
    if bytes <= PackReport.FreeOutput then Future.unit else pass(bytes)

  /** The controller has stored the outputs of the last report. */
  def stored(): Unit = synchronized:
    held.foreach(_.close())
    held = None
    inFlight.foreach(_.trySuccess(()))
    inFlight = None

  /** The pack is ending: releases everything held. */
  def close(): Unit = synchronized:
    closed = true
    stored()

  private def pass(bytes: Long): Future[Unit] =
    val before = synchronized(inFlight.fold(Future.unit)(_.future))
    for
      _ <- before
      permit <- memory.acquire(bytes, tenant)
    yield synchronized:
      if closed then permit.close()
      else
        held = Some(permit)
        inFlight = Some(Promise())
