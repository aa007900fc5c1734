package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.secrets.ActivationKeys
import burst.protocol.{DefinitionRef, Environment, FlareId, Timestamp}

/** What a function of OpenWhisk's is told of its run, by the names that its runtimes have for that. Our own
  * programs ask their context.
  *
  * @param apiHost
  *   where the API is
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
      // An exception is an activation's result, and fails a flare.
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
