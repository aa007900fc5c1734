package burst.protocol.link

import burst.protocol.JsonSerializer.Kind
import burst.protocol.{Durations, JsonSerializer, ToController, ToInvoker}
import io.circe.Codec
import io.circe.derivation.{Configuration, ConfiguredCodec}
import org.apache.pekko.actor.ExtendedActorSystem
import scala.concurrent.duration.{Duration, FiniteDuration}

/** Serializes the messages between controllers and invokers. */
final class LinkSerializer(system: ExtendedActorSystem) extends JsonSerializer(7301, system):
  private given Configuration =
    Configuration.default.withDiscriminator("type").withKebabCaseConstructorNames

  /** Zero or less is not a duration that anybody could wait. */
  private given Codec[FiniteDuration] =
    Codec.from(Durations.inMillis.ensure(_ > Duration.Zero, "not above 0"), Durations.inMillis)

  protected val kinds: Vector[Kind[?]] = Vector(
    Kind[Hello]("hello", ConfiguredCodec.derived),
    Kind[ToLink]("to-link", ConfiguredCodec.derived),
    Kind[ToSession]("to-session", ConfiguredCodec.derived),
    Kind.often[ToInvoker]("to-invoker", summon),
    Kind.often[ToController]("to-controller", summon)
  )
