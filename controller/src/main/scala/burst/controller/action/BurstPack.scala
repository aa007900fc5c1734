package burst.controller.action

import burst.controller.flare.{ActivationFields, Flare, PackRecord, WorkerState}
import burst.protocol.{FlareId, PackId}

/** A pack of a burst as a record of its own, as the published prototype's programs expect. Its result, an
  * array of its workers' outputs, may be large, and stays where it is stored.
  */
final case class BurstPack(head: ActivationHead, flare: Flare, pack: PackRecord)

/** The ids of packs, which need not be stored: the flare's id with the pack's number combined (XOR) into its
  * last eight digits.
  */
object BurstPack:
  def id(flare: FlareId, pack: PackId): FlareId =
    val changed = java.lang.Long.parseLong(flare.value.takeRight(8), 16) ^ pack.toLong
    FlareId.parse(flare.value.dropRight(8) + f"$changed%08x").getOrElse(flare)

  /** Returns the pack with this id, of a flare that has ended. */
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
