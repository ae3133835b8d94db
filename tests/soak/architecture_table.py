"""The transformers architectures of the long runs and the sizes that make them tiny."""

# Sizes by the names configurations use for them; a name a configuration does not have is skipped.
TINY = dict(
    hidden_size=32, d_model=32, n_embd=32, dim=32, embed_dim=32, emb_dim=32, embedding_size=32, word_embed_proj_dim=32,
    num_hidden_layers=2, n_layer=2, n_layers=2, num_layers=2, encoder_layers=2, decoder_layers=2, num_decoder_layers=2,
    num_attention_heads=4, n_head=4, n_heads=4, num_heads=4, encoder_attention_heads=4, decoder_attention_heads=4,
    num_key_value_heads=2, head_dim=8, attention_head_size=8, d_kv=8, kv_channels=8,
    intermediate_size=48, ffn_dim=48, encoder_ffn_dim=48, decoder_ffn_dim=48, d_ff=48, n_inner=48, hidden_dim=48,
    moe_intermediate_size=24, num_experts=4, num_local_experts=4, n_routed_experts=4, num_experts_per_tok=2,
    vocab_size=99, max_position_embeddings=64, n_positions=64, max_position=64, type_vocab_size=2,
    image_size=32, patch_size=8, num_channels=3, rotary_dim=8, partial_rotary_factor=0.5, pad_token_id=0,
    bos_token_id=1, eos_token_id=2, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
    layer_types=None, use_cache=False, projection_dim=32, attn_implementation=None,
)

TEXT = """albert bert bert-generation biogpt bloom camembert canine codegen convbert ctrl data2vec-text deberta deberta-v2 distilbert
electra ernie esm falcon fnet gemma gemma2 glm gpt2 gpt_bigcode gpt_neo gpt_neox gptj granite helium ibert layoutlm llama
longformer lxmert markuplm mbart megatron-bert mistral mixtral mobilebert mpnet mpt mra nystromformer olmo olmo2 openai-gpt opt
persimmon phi phi3 qwen2 qwen2_moe qwen3 rembert roberta roberta-prelayernorm roformer smollm3 splinter squeezebert stablelm
starcoder2 xglm xlm xlm-roberta xlnet yoso cohere modernbert ernie4_5 nemotron exaone4""".split()
SEQ2SEQ = "bart blenderbot blenderbot-small led m2m_100 marian mt5 mvp pegasus plbart t5 prophetnet".split()
VISION = """beit bit convnext convnextv2 data2vec-vision deit dinov2 dinov2_with_registers focalnet mobilenet_v1 mobilenet_v2
mobilevit mobilevitv2 poolformer pvt pvt_v2 regnet resnet segformer swiftformer swin swinv2 timesformer vit vit_mae vit_msn vitdet yolos ijepa glpn dpt""".split()
AUDIO = "wav2vec2 hubert wavlm unispeech unispeech-sat sew data2vec-audio whisper audio-spectrogram-transformer".split()
KINDS = {"text": TEXT, "seq2seq": SEQ2SEQ, "vision": VISION, "audio": AUDIO}

# What single architectures need beyond the common sizes.
OWN = {
    "albert": dict(embedding_size=16),
    "bit": dict(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_groups=2),
    "canine": dict(num_hash_buckets=64, num_hash_functions=4, local_transformer_stride=16, downsampling_rate=2),
    "convbert": dict(embedding_size=32, conv_kernel_size=3, head_ratio=2),
    "convnext": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], patch_size=4),
    "convnextv2": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], patch_size=4),
    "dinov2": dict(patch_size=8),
    "focalnet": dict(embed_dim=8, depths=[1, 1], hidden_sizes=[8, 16], focal_levels=[2, 2], focal_windows=[3, 3],
                     patch_size=4),
    "glpn": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2],
                 decoder_hidden_size=8, patch_sizes=[7, 3, 3, 3]),
    "gpt_neo": dict(attention_types=[[["global", "local"], 1]], window_size=8),
    "longformer": dict(attention_window=8),
    "mobilebert": dict(true_hidden_size=32, intra_bottleneck_size=32, embedding_size=16, hidden_size=64,
                       num_feedforward_networks=2),
    "mobilenet_v1": dict(depth_multiplier=0.25, min_depth=8),
    "mobilenet_v2": dict(depth_multiplier=0.25, min_depth=8),
    "mobilevit": dict(image_size=64, patch_size=2, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32]),
    "mobilevitv2": dict(image_size=64, patch_size=2, width_multiplier=0.25),
    "modernbert": dict(global_attn_every_n_layers=2, local_attention=8),
    "mra": dict(max_position_embeddings=32),
    "poolformer": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], patch_size=16),
    "pvt": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2], image_size=64,
                patch_sizes=[4, 2, 2, 2]),
    "pvt_v2": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2], image_size=64,
                   patch_sizes=[7, 3, 3, 3]),
    "regnet": dict(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], groups_width=8),
    "resnet": dict(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1]),
    "roformer": dict(embedding_size=32),
    "segformer": dict(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2],
                      decoder_hidden_size=16, patch_sizes=[7, 3, 3, 3]),
    "squeezebert": dict(embedding_size=32),
    "swiftformer": dict(depths=[1, 1, 1, 1], embed_dims=[8, 16, 24, 32], image_size=64),
    "swin": dict(embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=4, patch_size=4),
    "swinv2": dict(embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=4, patch_size=4),
    "timesformer": dict(num_frames=2),
    "audio-spectrogram-transformer": dict(patch_size=8, max_length=64, num_mel_bins=16, frequency_stride=8, time_stride=8),
    "wav2vec2": dict(conv_dim=[16, 16], conv_stride=[4, 2], conv_kernel=[8, 4], num_feat_extract_layers=2,
                     num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4),
    "whisper": dict(num_mel_bins=16, max_source_positions=20, max_target_positions=20, decoder_start_token_id=1),
    "yolos": dict(image_size=[32, 32], num_detection_tokens=4),
    "vitdet": dict(pretrain_image_size=32),
    "dpt": dict(neck_hidden_sizes=[8, 16, 16, 16], fusion_hidden_size=16, backbone_out_indices=[0, 0, 1, 1]),
    "xlm": dict(emb_dim=32),
    "prophetnet": dict(num_encoder_layers=2, num_decoder_layers=2, num_encoder_attention_heads=4,
                       num_decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48),
}
for name in ("hubert", "wavlm", "unispeech", "unispeech-sat", "sew", "data2vec-audio"):
    OWN[name] = OWN["wav2vec2"]
