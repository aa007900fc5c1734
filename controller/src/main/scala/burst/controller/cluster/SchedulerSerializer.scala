package burst.controller.cluster

import burst.controller.definition.SealedEnvironment
import burst.controller.flare.{Flare, FlareState, Output, WorkerResult, WorkerState}
import burst.controller.placement.Packing
import burst.controller.scheduler.GangScheduler.*
import burst.controller.scheduler.{CancelOutcome, CancelledBy, InvokerView, QueueEstimate, Refusal, WaitsFor}
import burst.protocol.JsonSerializer.Kind
import burst.protocol.MessageCodecs.{As, Text, given}
import burst.protocol.{Durations, Inputs, JsonSerializer, MessageCodecs, Timestamp}
import com.github.plokhotnyuk.jsoniter_scala.core.JsonValueCodec
import com.github.plokhotnyuk.jsoniter_scala.macros.JsonCodecMaker
import io.circe.derivation.{Configuration, ConfiguredCodec, ConfiguredEnumCodec}
import io.circe.{Codec, Decoder, Encoder, Json}
import org.apache.pekko.actor.ExtendedActorSystem
import scala.concurrent.duration.FiniteDuration

/** Serializes requests from a controller to the scheduler on another one, and the answers: all that
  * [[GangScheduler.Request]] and [[GangScheduler.Answer]] have, with derived codecs unless one is given here.
  * Each names the version of the protocol since which it has had its format: if a change makes it unreadable
  * for the previous release it gets another number, and both formats are read as long as both versions are
  * supported. Controllers that have no version in common do not become members of one cluster
  * ([[VersionCheck]]).
  *
  * Flares are not sent back whole: the asker reads them from the shared store. The answer for an accepted
  * flare is its summary. For a flare that has ended the answer is only that it is no longer active, unless
  * its results are sent along because they are small: then there is nothing left to read. Only the scheduler
  * uses the invokers' warm packs and the room on their nodes: with many invokers these would exceed the size
  * of a message.
  */
final class SchedulerSerializer(system: ExtendedActorSystem) extends JsonSerializer(7302, system):
  import SchedulerSerializer.{given, *}

  private given Configuration = Configuration.default.withDiscriminator("type")
  private given ConfiguredEnumCodec[CancelledBy] = ConfiguredEnumCodec.derived
  private given ConfiguredEnumCodec[WaitsFor] = ConfiguredEnumCodec.derived
  private given Codec[Either[WaitsFor, Timestamp]] = Codec.codecForEither("waitsFor", "start")
  private given Codec[QueueEstimate[Timestamp]] = ConfiguredCodec.derived
  private given Codec[InvokerView] =
    val whole = ConfiguredCodec.derived[InvokerView]
    Codec.from(
      whole,
      whole.contramap(view => view.copy(status = view.status.copy(warm = Set.empty, room = None)))
    )

  private given Kind[Submit] = Kind.often("submit/2", JsonCodecMaker.make(MessageCodecs.config))

  private given Kind[Submitted] =
    given JsonValueCodec[Flare] = sent(withoutSecrets)
    given JsonValueCodec[Throwable] =
      Text(text => Some(RemoteFailure(text)), cause => String.valueOf(cause.getMessage))
    val codec = As(
      JsonCodecMaker.make[Submitted](MessageCodecs.config),
      identity,
      {
        case Submitted.Accepted(flare, results) if results.isEmpty => Submitted.Accepted(summary(flare))
        case other => other
      }
    )
    Kind.often("submitted/2", codec)

  private given Kind[Await] = Kind.often("await/2", JsonCodecMaker.make(MessageCodecs.config))

  /** The previous release takes any other answer to mean that the flare is not active. */
  private given Kind[Awaited] =
    given JsonValueCodec[Flare] = sent(withoutSecrets)
    val ended = JsonCodecMaker.make[Option[Awaited.Ended]](MessageCodecs.config)
    val codec = As(
      ended,
      _.getOrElse(Awaited.NotActive),
      {
        case end: Awaited.Ended if end.results.nonEmpty => Some(end)
        case _ => None
      }
    )
    Kind.often("awaited/2", codec)

  private given Kind[CancelOutcome] = Kind("cancelled/2", ConfiguredEnumCodec.derived)
  private given Kind[NamespaceEnded.type] = Kind("namespace-ended/2", always(NamespaceEnded))
  private given Kind[InvokerList] = Kind("invokers/2", ConfiguredCodec.derived)

  protected val kinds: Vector[Kind[?]] = Kind.ofEach[Request](2) ++ Kind.ofEach[Answer](2)

object SchedulerSerializer:
  /** A failure on the scheduler's controller, whose log has the details. */
  private final class RemoteFailure(message: String) extends RuntimeException(message, null, false, false)

  private given JsonValueCodec[FlareState] = JsonCodecMaker.make(MessageCodecs.enumerated)
  private given JsonValueCodec[WorkerState] = JsonCodecMaker.make(MessageCodecs.enumerated)
  private given JsonValueCodec[FiniteDuration] = Durations.oftenInMillis
  private given JsonValueCodec[Packing] = JsonCodecMaker.make(MessageCodecs.enumerated)

  /** The codec of the part of a flare that is sent. */
  private def sent(shown: Flare => Flare): JsonValueCodec[Flare] =
    As(JsonCodecMaker.make[Flare](MessageCodecs.config), identity, shown)

  /** The codec of a message without content. */
  private def always[A](value: A): Codec[A] =
    Codec.from(Decoder.const(value), Encoder.instance(_ => Json.Null))

  private def summary(flare: Flare): Flare =
    flare.copy(packs = Vector.empty, workers = Vector.empty)

  private def withoutSecrets(flare: Flare): Flare =
    flare.copy(request =
      flare.request.copy(inputs = Inputs.Hidden, environment = SealedEnvironment.Empty)
    )
