package burst.protocol.link

import burst.protocol.JsonSerializer.Kind
import burst.protocol.{JsonSerializer, ToController, ToInvoker}
import io.circe.derivation.{Configuration, ConfiguredCodec}
import org.apache.pekko.actor.ExtendedActorSystem

/** What travels between controllers and invokers. */
final class LinkSerializer(system: ExtendedActorSystem) extends JsonSerializer(7301, system):
  private given Configuration =
    Configuration.default.withDiscriminator("type").withKebabCaseConstructorNames

  protected val kinds: Vector[Kind[?]] = Vector(
    Kind[Hello]("hello", ConfiguredCodec.derived),
    Kind[ToLink]("to-link", ConfiguredCodec.derived),
    Kind[ToSession]("to-session", ConfiguredCodec.derived),
    Kind[ToInvoker]("to-invoker", summon),
    Kind[ToController]("to-controller", summon)
  )
