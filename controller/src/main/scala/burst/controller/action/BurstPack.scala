package burst.controller.action

import burst.controller.flare.{ActivationFields, Flare, PackRecord, WorkerState}
import burst.protocol.FlareId

/** A pack of a burst as its own record, by which the published prototype's programs know it. Its result, an
  * array of what its workers put out, may be large, and stays where it is.
  */
final case class BurstPack(head: ActivationHead, flare: Flare, pack: PackRecord)

/** Packs have ids that need not be stored: the last eight digits of the flare's with the pack's number. */
object BurstPack:
  def id(flare: FlareId, pack: Int): FlareId =
    val changed = java.lang.Long.parseLong(flare.value.takeRight(8), 16) ^ pack.toLong
    FlareId.parse(flare.value.dropRight(8) + f"$changed%08x").getOrElse(flare)

  /** The pack that has this id, of a flare that has ended. */
  private[action] def of(id: FlareId, flare: Flare, fields: ActivationFields): Option[BurstPack] =
    flare.packs.find(pack => BurstPack.id(flare.id, pack.pack) == id).map: pack =>
      val own = flare.workers.filter(worker => pack.workers.contains(worker.worker))
      val part = flare.copy(
        packs = Vector(pack),
        workers = own,
        ended = own.flatMap(_.ended).maxOption.orElse(flare.ended)
      )
      val status = flare.error match
        case Some(failure) if own.exists(_.state != WorkerState.Succeeded) =>
          RunResult.failed(flare, failure).status
        case _ => ActivationStatus.Success
      BurstPack(FlareRecord.head(id, part, fields, status), flare, pack)
