package burst.controller.cluster

import burst.controller.definition.SealedEnvironment
import burst.controller.flare.{Flare, FlareRequest, Output, WorkerResult}
import burst.controller.scheduler.GangScheduler.*
import burst.controller.scheduler.{CancelOutcome, CancelledBy, InvokerView, QueueEstimate, Refusal, WaitsFor}
import burst.protocol.JsonSerializer.Kind
import burst.protocol.{Inputs, JsonSerializer}
import io.circe.derivation.{Configuration, ConfiguredCodec, ConfiguredEnumCodec}
import io.circe.{Codec, Decoder, Encoder, Json}
import org.apache.pekko.actor.ExtendedActorSystem
import scala.reflect.ClassTag

/** What a controller asks of the scheduler on another one, and the answers. Each says the version of the
  * protocol since which it has been as it is: one that is changed so that the release before could not read
  * it gets another number, and is read by both as long as both are spoken. Controllers that have no version
  * in common do not become members of one cluster ([[VersionCheck]]).
  *
  * Flares do not travel back whole: the asker reads them from the store they share. An accepted one comes as
  * its summary. Of one that has ended the answer is that it goes on no more, unless all that its workers put
  * out is told with it, which is little: then there is nothing to read. What invokers have warm, and on which
  * nodes they have room, is for the scheduler: of many of them it would be more than a message may have.
  */
final class SchedulerSerializer(system: ExtendedActorSystem) extends JsonSerializer(7302, system):
  import SchedulerSerializer.{given, *}

  private given Configuration = Configuration.default.withDiscriminator("type")
  private given Codec[FlareRequest] = ConfiguredCodec.derived
  private given Codec[Flare] =
    val whole = ConfiguredCodec.derived[Flare]
    Codec.from(whole, whole.contramap(summary))
  private given ConfiguredEnumCodec[CancelledBy] = ConfiguredEnumCodec.derived
  private given Codec[Refusal] = ConfiguredCodec.derived
  private given ConfiguredEnumCodec[WaitsFor] = ConfiguredEnumCodec.derived
  private given Codec[Either[WaitsFor, Long]] = Codec.codecForEither("waitsFor", "start")
  private given Codec[QueueEstimate] = ConfiguredCodec.derived
  private given Codec[InvokerView] =
    val whole = ConfiguredCodec.derived[InvokerView]
    Codec.from(
      whole,
      whole.contramap(view => view.copy(status = view.status.copy(warm = Set.empty, room = None)))
    )

  /** The release before takes any for the answer that nothing goes on. */
  private def awaited: Codec[Awaited] =
    given ConfiguredCodec[Output] = ConfiguredCodec.derived
    given ConfiguredCodec[WorkerResult] = ConfiguredCodec.derived
    given Codec[Flare] =
      val whole = ConfiguredCodec.derived[Flare]
      Codec.from(whole, whole.contramap(withoutSecrets))
    val ended = ConfiguredCodec.derived[Awaited.Ended]
    Codec.from(
      Decoder.decodeOption(using ended).map(_.getOrElse(Awaited.NotActive)),
      Encoder.instance:
        case told: Awaited.Ended if told.results.nonEmpty => ended(told)
        case _ => Json.Null
    )

  protected val kinds: Vector[Kind[?]] = Vector(
    kind[Submit]("submit", ConfiguredCodec.derived),
    kind[Cancel]("cancel", ConfiguredCodec.derived),
    kind[EndNamespace]("end-namespace", ConfiguredCodec.derived),
    kind[ReopenNamespace]("reopen-namespace", ConfiguredCodec.derived),
    kind[Await]("await", ConfiguredCodec.derived),
    kind[Locate]("locate", ConfiguredCodec.derived),
    kind[ListInvokers]("list-invokers", ConfiguredCodec.derived),
    kind[Drain]("drain", ConfiguredCodec.derived),
    kind[Submitted]("submitted", ConfiguredCodec.derived),
    kind[Awaited]("awaited", awaited),
    kind[CancelOutcome]("cancelled", ConfiguredEnumCodec.derived),
    kind[NamespaceEnded.type]("namespace-ended", always(NamespaceEnded)),
    kind[Located]("located", ConfiguredCodec.derived),
    kind[InvokerList]("invokers", ConfiguredCodec.derived),
    kind[Drained]("drained", ConfiguredCodec.derived)
  )

object SchedulerSerializer:
  /** What failed on the scheduler's controller, whose log has the rest. */
  private final class RemoteFailure(message: String) extends RuntimeException(message, null, false, false)

  private given Codec[Throwable] = Codec.from(
    Decoder.decodeString.map(RemoteFailure(_)),
    Encoder.encodeString.contramap(cause => String.valueOf(cause.getMessage))
  )

  private def kind[A <: AnyRef: ClassTag](name: String, codec: Codec[A], since: Int = 2): Kind[A] =
    Kind(s"$name/$since", codec)

  /** Of what there is no more to say than that it is there. */
  private def always[A](value: A): Codec[A] =
    Codec.from(Decoder.const(value), Encoder.instance(_ => Json.Null))

  private def summary(flare: Flare): Flare =
    withoutSecrets(flare).copy(packs = Vector.empty, workers = Vector.empty)

  private def withoutSecrets(flare: Flare): Flare =
    flare.copy(request =
      flare.request.copy(inputs = Inputs.Hidden, environment = SealedEnvironment.Empty)
    )
