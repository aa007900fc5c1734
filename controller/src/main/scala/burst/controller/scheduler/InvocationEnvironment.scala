package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.secrets.ActivationKeys
import burst.protocol.{DefinitionRef, Environment, FlareId, Timestamp}

/** The environment that tells an OpenWhisk function about its run, under the names that OpenWhisk's runtimes
  * use. Our own programs use their context.
  *
  * @param apiHost
  *   the address of the API
  */
final class InvocationEnvironment(keys: ActivationKeys, apiHost: => String):
  def of(id: FlareId, request: FlareRequest, deadline: Timestamp): Environment =
    val definition = request.definition
    if request.activation.isEmpty && definition.kind == DefinitionRef.Rust then Environment.Empty
    else
      val path = request.activation.fold(s"${definition.namespace}/${definition.name}")(_.path)
      val key =
        for
          uuid <- request.activation.flatMap(_.key)
          made <- keys.make(uuid, deadline)
        yield "api_key" -> s"$uuid:$made"
      // An exception is the result of an activation, but fails a flare.
      val flare = Option.unless(request.activation.exists(!_.burst))("flare_id" -> id.value)
      Environment(
        Map(
          "api_host" -> apiHost,
          "namespace" -> definition.namespace,
          "action_name" -> s"/$path",
          "action_version" -> request.activation.fold(definition.version)(_.version),
          "activation_id" -> id.value,
          "transaction_id" -> request.activation.fold(id.value)(_.transaction),
          "deadline" -> deadline.millis.toString
        ) ++ key ++ flare
      )
