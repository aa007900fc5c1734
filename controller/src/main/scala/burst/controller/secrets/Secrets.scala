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
      key.flatMap(_.open(definition, secret)).map(secret.name -> _).toRight(unopened(secret))
    opened.collectFirst { case Left(problem) => problem }.toLeft:
      Environment(environment.variables ++ opened.flatMap(_.toOption))

  private def unopened(secret: SealedSecret): UnopenedSecret = key match
    case None => UnopenedSecret.NoKey(secret.name)
    case Some(own) if own.id != secret.keyId =>
      UnopenedSecret.OtherKey(secret.name, sealedBy = secret.keyId, own = own.id)
    case Some(_) => UnopenedSecret.Changed(secret.name)

/** A secret that cannot be opened, and why. */
enum UnopenedSecret:
  def name: String

  /** The controller has no key for secrets. */
  case NoKey(name: String)
  case OtherKey(name: String, sealedBy: String, own: String)

  /** What is stored is not what was sealed. */
  case Changed(name: String)

  def message: String =
    val why = this match
      case NoKey(_) => "the controller has no key for secrets; its operator finds in its log what to do"
      case OtherKey(_, sealedBy, own) =>
        s"it was sealed by another key ($sealedBy) than the controller's ($own); have the operator give " +
          "all controllers the same key, or deploy it again"
      case Changed(_) => "what is stored of it has been changed; deploy it again"
    s"the secret $name cannot be opened: $why"
