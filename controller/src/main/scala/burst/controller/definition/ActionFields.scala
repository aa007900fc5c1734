package burst.controller.definition

import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.JsonObject
import io.circe.syntax.*

/** The properties of a definition beside its program and options, as OpenWhisk's clients set them for an
  * action.
  *
  * @param main
  *   the function to call in a program that is a source file
  * @param image
  *   the image in which a `blackbox` runs
  * @param components
  *   the actions of a sequence, as `/namespace/[package/]name`
  * @param binary
  *   whether its code was sent as base64
  * @param initParameters
  *   names of the parameters that a program gets in its environment, and not in its inputs
  * @param logs
  *   the limit of a log in MB
  * @param concurrency
  *   how many invocations a pack may run at the same time
  * @param label
  *   the version that a client gave it, instead of the platform's own
  */
final case class ActionFields(
    main: Option[String] = None,
    image: Option[String] = None,
    components: Vector[String] = Vector.empty,
    binary: Boolean = true,
    annotations: JsonObject = JsonObject.empty,
    publish: Boolean = false,
    initParameters: Set[String] = Set.empty,
    logs: Int = 10,
    concurrency: Int = 1,
    label: Option[String] = None
):
  /** The label of a next version that sets none of its own. */
  def nextLabel: Option[String] = label.map(EntityVersion.after)

  /** The properties of a next version whose program was replaced by a client that knows nothing of actions.
    */
  def under(program: ActionFields, kind: String, init: Set[String]): ActionFields = copy(
    annotations = if annotations.contains("exec") then annotations.add("exec", kind.asJson) else annotations,
    concurrency = if Kind.familyOf(kind).exists(_.isConcurrent) then concurrency else 1,
    main = program.main,
    image = program.image,
    components = program.components,
    binary = program.binary,
    initParameters = init,
    label = nextLabel
  )

object ActionFields:
  private given Configuration = Configuration.default.withDefaults
  given ConfiguredCodec[ActionFields] = ConfiguredCodec.derived
