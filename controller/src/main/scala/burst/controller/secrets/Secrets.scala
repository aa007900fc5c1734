package burst.controller.secrets

import burst.controller.definition.{SealedEnvironment, SealedSecret}
import burst.protocol.Environment

/** Seals secrets when they are deployed and opens them when packs are requested, if this controller has the
  * key.
  */
final class Secrets(key: Option[SecretsKey]):
  val activationKeys: ActivationKeys = ActivationKeys(key)

  /** Seals secrets; returns none without a key. */
  def seal(definition: DefinitionName, values: Map[String, String]): Option[Vector[SealedSecret]] =
    key match
      case Some(key) => Some(values.toVector.map((name, value) => key.seal(definition, name, value)))
      case None => Option.when(values.isEmpty)(Vector.empty)

  /** Returns the environment of a program, or the name of a secret that cannot be opened, and why. A secret
    * overrides a variable of its name, which an older version may have.
    */
  def open(
      definition: DefinitionName,
      environment: SealedEnvironment
  ): Either[UnopenedSecret, Environment] =
    val opened = environment.secrets.map: secret =>
      key.flatMap(_.open(definition, secret)).map(secret.name -> _).toRight(UnopenedSecret(
        secret.name,
        why(secret)
      ))
    opened.collectFirst { case Left(problem) => problem }.toLeft:
      Environment(environment.variables ++ opened.flatMap(_.toOption))

  private def why(secret: SealedSecret): String = key match
    case None => "the controller has no key for secrets; its operator finds in its log what to do"
    case Some(own) if own.id != secret.keyId =>
      s"it was sealed by another key (${secret.keyId}) than the controller's (${own.id}); have the operator give " +
        "all controllers the same key, or deploy it again"
    case Some(_) => "what is stored of it has been changed; deploy it again"

/** A secret that cannot be opened. */
final case class UnopenedSecret(name: String, why: String):
  def message: String = s"the secret $name cannot be opened: $why"
