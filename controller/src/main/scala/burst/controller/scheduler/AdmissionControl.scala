package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.placement.{ClusterView, NoPlacement}
import burst.protocol.{FlareId, Timestamp}

/** What is checked before a flare is accepted, and what an accepted one looks like. Pure. */
object AdmissionControl:

  /** Why a flare can never run on the cluster as it is, if so. `slotLimit` is its namespace's; where the
    * cluster may come to have up to `most` slots, what is too large for it now waits.
    */
  def refusal(
      round: SchedulingRound,
      cluster: ClusterView,
      most: Option[Long],
      request: FlareRequest,
      slotLimit: Int
  ): Option[Refusal] =
    if most.exists(request.size <= _) then overLimit(request, slotLimit)
    else if most.exists(_ > cluster.totalSlots) then
      Some(Refusal.TooLarge(request.size, most.fold(0)(_.min(Int.MaxValue).toInt)))
    else if cluster.totalSlots == 0 then Some(Refusal.NoInvokers)
    else
      round.place(cluster.emptied, request) match
        case Left(NoPlacement.Never(total, usable, largest, unit)) =>
          if request.size > total then Some(Refusal.TooLarge(request.size, total))
          else if unit > largest then Some(Refusal.UnitTooLarge(unit, largest))
          else
            Some(Refusal.UnitsTooLarge(
              size = request.size,
              granularity = unit,
              usable = usable,
              clusterSlots = total
            ))
        case _ => overLimit(request, slotLimit)

  private def overLimit(request: FlareRequest, slotLimit: Int): Option[Refusal] =
    Option.when(request.size > slotLimit):
      Refusal.OverLimit("concurrent slots", request.size, slotLimit)

  /** Why a flare that must wait cannot, once it stands in the queue. A part of a sequence can: the whole was
    * accepted. Nor is it in the way of others: how many sequences go on has a limit of its own.
    */
  def overflow(queue: FlareQueue, request: FlareRequest, settings: SchedulerSettings): Option[Refusal] =
    val tenant = request.definition.namespace
    if Waiting.isPart(request) then None
    else if queue.exceeds(settings.queueLimit) then Some(Refusal.QueueFull(settings.queueLimit))
    else if queue.exceeds(settings.namespaceQueueLimit, tenant) then
      Some(Refusal.QueueFull(settings.namespaceQueueLimit))
    else None

  /** A flare as it begins, by the `id` that whoever asks for it may have chosen. */
  def accept(request: FlareRequest, now: Timestamp, id: Option[FlareId] = None): Flare = Flare(
    id.getOrElse(FlareId.random()),
    request,
    FlareState.Queued,
    attempt = 1,
    granularity = None,
    created = now,
    placed = None,
    started = None,
    ended = None,
    error = None,
    packs = Vector.empty,
    workers = FlareLifecycle.pending(request.size)
  )
